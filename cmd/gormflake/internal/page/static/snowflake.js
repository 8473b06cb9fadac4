// Snowflake IDs as package snowflake of Go has them: pure functions on BigInts,
// for the page, Node and tests.

export * from './layout.js';
export * from './parts.js';
export * from './forms.js';
