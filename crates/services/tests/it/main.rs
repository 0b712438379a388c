//! The simulation of services.
