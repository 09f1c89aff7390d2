//! The dashboard as a browser meets it: pages over HTTP, cookies kept, forms sealed.

mod browser;

mod doors;

mod elsewhere;

mod files;

mod keys;

mod operations;

mod people;
