"""The runs below a folder, shown by a server on this machine alone; reads files and writes none."""
