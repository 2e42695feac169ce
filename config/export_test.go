package config

// For tests of this package from outside.
var (
	ServerFields = serverFields
	AppsFields   = appsFields
	ModelFields  = modelFields
	RuleFields   = permissionFields
	LaterFields  = laterFields
)
