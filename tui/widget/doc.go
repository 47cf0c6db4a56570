// Package widget is the parts that screens are made of: tables, forms, texts that scroll, and the themes that style them.
//
// It knows neither the service nor a single screen.
package widget
