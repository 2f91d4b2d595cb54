"""The other ways in: inspect, debug, install, finish, and calls that skip the guards."""
