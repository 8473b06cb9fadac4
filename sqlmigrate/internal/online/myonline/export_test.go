package myonline

// VersionSQL exposes versionSQL.
const VersionSQL = versionSQL
