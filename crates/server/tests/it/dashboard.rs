//! The dashboard as a browser meets it: pages over HTTP, cookies kept, forms sealed.

mod browser;

mod cargo;

mod doors;

mod keys;

mod people;
