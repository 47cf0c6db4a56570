package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
	"github.com/swaggest/swgui/v5/static"
	"go.yaml.in/yaml/v3"

	"example.com/perks/api"
)

// docsPath is the page that shows the API description. It isn't part of the API.
const docsPath = "/docs"

// docsDirectories keep their trailing slash, because links on the page are relative.
var docsDirectories = []string{"/", docsPath + "/", apiPath + docsPath + "/"}

// apiDocs is the page that shows the API description.
type apiDocs struct {
	page  file
	files map[string]file // beside the page
}

// descriptionInJSON is the API description as JSON, made when it is first asked for: that takes as long as all else
// that perksd does to start.
var descriptionInJSON = sync.OnceValues(func() ([]byte, error) {
	var description map[string]any
	if err := yaml.Unmarshal(api.OpenAPI(), &description); err != nil {
		return nil, fmt.Errorf("reading the embedded API description: %w", err)
	}
	inJSON, err := json.Marshal(description)
	if err != nil {
		return nil, fmt.Errorf("writing the API description as JSON: %w", err)
	}
	return inJSON, nil
})

func descriptionInYAML() ([]byte, error) { return api.OpenAPI(), nil }

//go:embed page
var pageFiles embed.FS

// newAPIDocs makes the page. Its links are relative, so that a proxy may serve it below any path.
func newAPIDocs() (*apiDocs, error) {
	d := &apiDocs{files: map[string]file{}}
	address := ".." + apiPath + "/openapi"
	values := []string{"{title}", "Perks and properties: API reference", "{json}", address + ".json", "{yaml}",
		address + ".yaml"}
	for _, part := range []struct {
		name, mediaType string
		from            fs.FS
		path            string
	}{
		{"swagger-ui.css", "text/css; charset=utf-8", static.FS, "swagger-ui.css.gz"},
		{"swagger-ui-bundle.js", "text/javascript; charset=utf-8", static.FS, "swagger-ui-bundle.js.gz"},
		{"icon.png", "image/png", static.FS, "favicon-32x32.png"},
		{"page.css", "text/css; charset=utf-8", pageFiles, "page/page.css"},
		{"page.js", "text/javascript; charset=utf-8", pageFiles, "page/page.js"},
	} {
		content, err := fs.ReadFile(part.from, part.path)
		if err != nil {
			return nil, fmt.Errorf("preparing %s: reading an embedded file: %w", docsPath, err)
		}
		sum := sha256.Sum256(content)
		f := file{mediaType: part.mediaType, content: content, hash: hex.EncodeToString(sum[:8])}
		if path.Ext(part.path) == ".gz" {
			f.unpack = sync.OnceValues(func() ([]byte, error) {
				unpacked, err := gzip.NewReader(bytes.NewReader(content))
				if err != nil {
					return nil, err
				}
				return io.ReadAll(unpacked)
			})
		}
		// The name changes with the content, so that caches may keep the file forever.
		extension := path.Ext(part.name)
		hashed := strings.TrimSuffix(part.name, extension) + "." + f.hash + extension
		d.files[hashed] = f
		values = append(values, "{"+part.name+"}", hashed)
	}
	outline, err := pageFiles.ReadFile("page/page.html")
	if err != nil {
		return nil, fmt.Errorf("preparing %s: reading an embedded file: %w", docsPath, err)
	}
	for i := 1; i < len(values); i += 2 {
		values[i] = html.EscapeString(values[i])
	}
	// html/template would keep the linker from dropping unused methods
	page := strings.NewReplacer(values...).Replace(string(outline))
	d.page = file{mediaType: "text/html; charset=utf-8", content: []byte(page)}
	return d, nil
}

// routes serves the page at /docs/. The addresses that people try first redirect there.
func (d *apiDocs) routes(e *echo.Echo) {
	get(e, apiPath+"/openapi.json", gzippedOnce(echo.MIMEApplicationJSON, descriptionInJSON))
	get(e, apiPath+"/openapi.yaml", gzippedOnce("application/yaml", descriptionInYAML))
	for _, path := range []string{"/", docsPath, apiPath + docsPath, apiPath + docsPath + "/"} {
		get(e, path, func(c echo.Context) error {
			// Relative, because a proxy may serve this below a path.
			page := strings.Repeat("../", strings.Count(path, "/")-1) + "docs/"
			c.Response().Header().Set("Location", page)
			return writeJSON(c, http.StatusPermanentRedirect, echo.MIMEApplicationJSON, map[string]string{"docs": page})
		})
	}
	get(e, docsPath+"/", d.page.send)
	get(e, docsPath+"/:file", func(c echo.Context) error {
		f, found := d.files[c.Param("file")]
		if !found {
			return noSuchAddress
		}
		return f.send(c)
	})
}

// gzippedOnce responds with a text that never changes, and is compressed once.
func gzippedOnce(mediaType string, text func() ([]byte, error)) echo.HandlerFunc {
	compressed := sync.OnceValue(func() []byte {
		p, _ := gzipBuffers.Get().(*gzipBuffer)
		defer p.free()
		plain, _ := text() // it did not fail before
		return bytes.Clone(p.compress(plain))
	})
	return func(c echo.Context) error {
		plain, err := text()
		if err != nil {
			return err
		}
		if gzipped, _ := negotiateEncoding(c, "", true); gzipped {
			return writeGzip(c, http.StatusOK, mediaType, compressed())
		}
		return c.Blob(http.StatusOK, mediaType, plain)
	}
}

type file struct {
	mediaType string
	content   []byte
	unpack    func() ([]byte, error) // unpacks gzipped content; nil if it isn't gzipped
	hash      string                 // of the content, and part of its name; a file without one must not be cached
}

// policy lets the page load its own files and call its own host, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (f file) send(c echo.Context) (err error) {
	header := c.Response().Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	tag := ""
	if f.hash == "" {
		header.Set("Cache-Control", noStore)
	} else {
		tag = `"` + f.hash + `"`
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	gzipped, known := negotiateEncoding(c, tag, f.unpack != nil)
	switch {
	case known:
		return c.NoContent(http.StatusNotModified)
	case gzipped:
		return writeGzip(c, http.StatusOK, f.mediaType, f.content)
	}
	content := f.content
	if f.unpack != nil {
		if content, err = f.unpack(); err != nil {
			return fmt.Errorf("unpacking an embedded file: %w", err)
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(content)))
	return c.Blob(http.StatusOK, f.mediaType, content)
}
