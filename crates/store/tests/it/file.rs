//! Files: what is counted, who comes first, and that nothing is ready whose bytes are gone.

mod claim;
mod create;
mod end;
mod history;
mod list;
mod proof;
mod publish;
mod reference;
mod storm;
mod yard;
