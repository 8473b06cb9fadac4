// Package filestest contains only tests. They run the files that package sqlmigrate
// writes with the migration tools, in both directions. It is a separate module, so that
// other modules do not depend on these tools.
package filestest
