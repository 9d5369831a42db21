from adbc_driver_manager.dbapi import Connection
from adbc_driver_manager.dbapi import Error as Error

def connect(uri: str, *, autocommit: bool = False) -> Connection: ...
