package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/swaggest/swgui/v5/static"
	"go.yaml.in/yaml/v3"

	"example.com/perks/api"
)

// Where the page that shows the API description to people is. It is no part of the API that it shows.
const docsPath = "/docs"

// foldersOfDocs are the addresses that keep their trailing slash, because links on the page are relative to it.
var foldersOfDocs = []string{"/", docsPath + "/", apiPath + docsPath + "/"}

func newReference() (*reference, error) {
	page, err := newReferencePage("Perks and properties: API reference", ".."+apiPath+"/openapi")
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", docsPath, err)
	}
	return page, nil
}

// docsRoutes puts the page at /docs/, because its links are relative to a folder. The addresses where people look first redirect there.
func (s *service) docsRoutes(e *echo.Echo) {
	for _, path := range []string{"/", docsPath, apiPath + docsPath, apiPath + docsPath + "/"} {
		get(e, path, func(c echo.Context) error {
			// Relative: a proxy may have put all of this below a path.
			page := strings.Repeat("../", strings.Count(path, "/")-1) + "docs/"
			c.Response().Header().Set("Location", page)
			return writeJSON(c, http.StatusPermanentRedirect, echo.MIMEApplicationJSON, map[string]string{"docs": page})
		})
	}
	get(e, docsPath+"/", echo.WrapHandler(s.reference))
	get(e, docsPath+"/:file", func(c echo.Context) error {
		file, found := s.reference.File(c.Param("file"))
		if !found {
			return noSuchAddress
		}
		return echo.WrapHandler(file)(c)
	})
}

// description serves the OpenAPI document in both of its notations.
type description struct{ inJSON, inYAML []byte }

func newDescription() (*description, error) {
	var document map[string]any
	if err := yaml.Unmarshal(api.OpenAPI(), &document); err != nil {
		return nil, fmt.Errorf("reading the embedded API description: %w", err)
	}
	inJSON, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("writing the API description as JSON: %w", err)
	}
	return &description{inJSON: inJSON, inYAML: api.OpenAPI()}, nil
}

func (d *description) json(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, d.inJSON)
}

func (d *description) yaml(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", d.inYAML)
}

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

// file is one thing to send. It has its content either plain or packed with gzip.
type file struct {
	plain, packed []byte
	mediaType     string
	hash          string // of the content, which its name tells; a file without one is never kept by a cache
}

// policy lets the page load its own files, ask its own host, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP answers GET and HEAD.
func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")

	length, content, pack := int64(len(f.plain)), io.Reader(bytes.NewReader(f.plain)), false
	if f.packed != nil {
		header.Set("Vary", "Accept-Encoding")
		pack = takesGzip(r.Header.Values("Accept-Encoding"))
		length, content = int64(len(f.packed)), bytes.NewReader(f.packed)
		if !pack {
			length = unpackedLength(f.packed)
		}
	}
	if f.hash == "" {
		header.Set("Cache-Control", "no-store")
	} else {
		tag := fileTag(f.hash, pack)
		header.Set("ETag", tag)
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
		if has(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	header.Set("Content-Type", f.mediaType)
	header.Set("Content-Length", strconv.FormatInt(length, 10))
	if pack {
		header.Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if f.packed != nil && !pack {
		unpacked, err := gzip.NewReader(content)
		if err != nil {
			panic(http.ErrAbortHandler) // the length that was promised cannot be sent
		}
		content = unpacked
	}
	_, _ = io.Copy(w, content) // whoever went away needs no answer
}

// entityTag tells the two forms of a packed file apart, as RFC 9110, section 8.8.3.3 asks.
func fileTag(hash string, packed bool) string {
	if packed {
		return `"` + hash + `-gzip"`
	}
	return `"` + hash + `"`
}

// has tells whether an If-None-Match header lists the tag.
func has(header []string, tag string) bool {
	for _, line := range header {
		for listed := range strings.SplitSeq(line, ",") {
			listed = strings.TrimPrefix(strings.TrimSpace(listed), "W/")
			if listed == tag || listed == "*" {
				return true
			}
		}
	}
	return false
}

// unpackedLength is what the end of a gzip file tells (RFC 1952, section 2.3.1).
func unpackedLength(packed []byte) int64 {
	return int64(binary.LittleEndian.Uint32(packed[len(packed)-4:]))
}

// takesGzip reads an Accept-Encoding header (RFC 9110, section 12.5.3): what it says of gzip counts before what it says of *.
func takesGzip(header []string) bool {
	takes := false
	for _, line := range header {
		for item := range strings.SplitSeq(line, ",") {
			coding, parameter, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip":
				return weighs(parameter)
			case "*":
				takes = weighs(parameter)
			}
		}
	}
	return takes
}

// weighs tells whether a weight such as "q=0.5" is more than nothing. None at all is the full weight.
func weighs(parameter string) bool {
	name, value, given := strings.Cut(strings.TrimSpace(parameter), "=")
	if !given || !strings.EqualFold(name, "q") {
		return true
	}
	weight, err := strconv.ParseFloat(value, 64)
	return err == nil && weight > 0
}
