// Package resolvertest tests sqllease with gorm.io/plugin/dbresolver. It is a
// module of its own, so that the core does not depend on the plugin.
package resolvertest
