"""The automaton of what stands around JSON values: free text, markers, names of tools, separators, stops."""
