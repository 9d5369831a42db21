"""Public lists of codes and their groups, one file each: a schema names them."""
