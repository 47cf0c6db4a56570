// Package components is the parts that screens are made of: tables, forms, texts that scroll, and the art of fitting all of
// that into whatever room there is.
//
// It knows nothing of the service, and of single screens.
package components
