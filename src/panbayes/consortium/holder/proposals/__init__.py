"""Questions of a holder about its own records, answered privately: which bounds or categories a column needs."""
