//! The dashboard as a browser meets it: pages over HTTP, cookies kept, forms sealed.

mod browser;

mod callbacks;

mod cargo;

mod doors;

mod elsewhere;

mod files;

mod keys;

mod numbers;

mod operations;

mod people;

mod reads;
