//! Tests of the lease keeper.
