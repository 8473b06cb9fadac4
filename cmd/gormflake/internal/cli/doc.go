// Package cli is the command line of gormflake: one file per command.
package cli
