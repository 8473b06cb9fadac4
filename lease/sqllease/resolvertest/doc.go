// Package resolvertest tests sqllease beside gorm.io/plugin/dbresolver. It is a
// module of its own, so that the core does not depend on the plugin.
package resolvertest
