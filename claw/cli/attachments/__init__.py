"""What -f names: files, recordings, web addresses."""
