// The functions of package snowflake of Go, on BigInts. They use no document, so that Node
// can run them too.

export * from './layout.js';
export * from './parts.js';
export * from './forms.js';
