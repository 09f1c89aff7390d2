//! Files of requests: one request per line, in one of several forms.

pub mod openai_line;

pub mod request_file;

pub mod request_line;
