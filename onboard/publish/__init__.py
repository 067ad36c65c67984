"""Everything rendered from results: the terminal while it runs and when it is done, and the page to open."""
