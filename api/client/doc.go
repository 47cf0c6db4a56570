// Package client is the typed client of the perks service: a method for each endpoint, walks over all pages of a list, and
// errors that say what the server refused or whether a request may have reached it.
//
// resty carries the requests. What must hold for every request, whoever makes it (the token, the single sending of a
// change, the redacted trace), is done by http.RoundTrippers beneath it. The package knows nothing of terminals,
// profiles or files; where tokens come from is the TokenSource's business.
package client
