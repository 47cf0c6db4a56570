// Package api is the contract between the perks server and everyone who calls it: the shapes on the wire, the rules each
// field obeys, the error codes, the scopes and the OpenAPI description.
//
// It knows nothing of HTTP routing, of databases or of terminals, and imports no other package of this module, so that
// the server, the client and the store can all speak in its terms.
package api
