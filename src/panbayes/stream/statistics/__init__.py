"""What can be estimated of a stream, one file each."""
