package server

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"net/http"
	"path"
	"strings"

	"github.com/swaggest/swgui/v5/static"
)

//go:embed page
var own embed.FS

// Page is the page and the files that it loads. Whoever serves it puts the page at an address that ends in a slash and
// the files beside it; all links are relative, so that a proxy may put the whole below any path.
type reference struct {
	http.Handler // answers with the page itself
	files        map[string]http.Handler
}

// New makes the page. The address of the description is relative to the page's own and without .json or .yaml, both of which
// are there.
func newReferencePage(title, description string) (*reference, error) {
	p := &reference{files: map[string]http.Handler{}}
	links := map[string]string{}
	for _, name := range []string{"swagger-ui.css", "swagger-ui-bundle.js"} {
		packed, err := static.FS.ReadFile(name + ".gz")
		if err != nil {
			return nil, fmt.Errorf("reading the embedded Swagger UI: %w", err)
		}
		links[name] = p.add(name, file{packed: packed})
	}
	icon, err := static.FS.ReadFile("favicon-32x32.png")
	if err != nil {
		return nil, fmt.Errorf("reading the embedded Swagger UI: %w", err)
	}
	links["icon.png"] = p.add("icon.png", file{plain: icon})
	for _, name := range []string{"page.css", "page.js"} {
		content, err := own.ReadFile("page/" + name)
		if err != nil {
			return nil, fmt.Errorf("reading the embedded reference page: %w", err)
		}
		links[name] = p.add(name, file{plain: content})
	}

	outline, err := own.ReadFile("page/page.html")
	if err != nil {
		return nil, fmt.Errorf("reading the embedded reference page: %w", err)
	}
	values := []string{"{title}", title, "{json}", description + ".json", "{yaml}", description + ".yaml"}
	for name, link := range links {
		values = append(values, "{"+name+"}", link)
	}
	for i := 1; i < len(values); i += 2 {
		values[i] = html.EscapeString(values[i])
	}
	page := strings.NewReplacer(values...).Replace(string(outline)) // html/template would keep the linker from leaving out what nobody calls
	p.Handler = file{plain: []byte(page), mediaType: "text/html; charset=utf-8"}
	return p, nil
}

// File returns what answers for a file beside the page, and whether there is such a file.
func (p *reference) File(name string) (http.Handler, bool) {
	handler, found := p.files[name]
	return handler, found
}

// add keeps a file under a name that tells its content apart, so that a cache need never ask for it again, and returns
// that name.
func (p *reference) add(name string, f file) string {
	sum := sha256.New()
	sum.Write(f.plain)
	sum.Write(f.packed)
	f.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	extension := path.Ext(name)
	f.mediaType = mediaTypes[extension]
	hashed := strings.TrimSuffix(name, extension) + "." + f.hash + extension
	p.files[hashed] = f
	return hashed
}

var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".png": "image/png",
}
