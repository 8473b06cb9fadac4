package myonline

const VersionSQL = versionSQL
