//! Ending a session or account is constant work up front, whatever number of grants hangs on it.
