// Package usher is a host for MCP servers: it connects the servers a person has configured, keeps their
// catalogs, calls their tools and prepares their apps, for as many sessions as share it.
package usher
