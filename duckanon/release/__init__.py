"""Tables, views, files and folders: built beside their place, verified, then let into it whole or not at all."""
