"""Settings -> what a workspace keeps."""
