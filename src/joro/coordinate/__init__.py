"""Who collects what? Shares of servers, and the links that belong to somebody else's share."""
