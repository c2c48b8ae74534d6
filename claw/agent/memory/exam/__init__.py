"""Memory that examines itself: what is hardly found."""
