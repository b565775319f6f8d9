"""What runs in the browser: scripts, and the Python side of their protocol."""
