// Package cli is the command line of gormflake: the root command, help and version.
// Each other command is a package below, with a function New.
package cli
