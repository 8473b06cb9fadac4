// Package remote is what the stores on servers of their own have in common.
package remote
