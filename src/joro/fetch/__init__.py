"""How do we ask other people's servers, and where must we stop? The only stage that talks to them."""
