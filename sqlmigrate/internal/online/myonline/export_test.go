package myonline

var IsSupported = isSupported
