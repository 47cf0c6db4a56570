package picture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// download reads what is at an address. Each call has a client of its own, so that nothing is left behind: no connection
// and no cookie.
func download(ctx context.Context, target *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("the address of the image cannot be read: %w", err)
	}
	request.Header.Set("Accept", "image/webp, image/png, image/jpeg, image/gif")
	request.Header.Set("User-Agent", "perksctl")
	guard := newGuard(target)
	client := &http.Client{
		CheckRedirect: checkRedirect,
		Transport: &http.Transport{
			Proxy:              guard.proxy,
			DialContext:        guard.dial,
			DisableKeepAlives:  true,
			DisableCompression: true,
			ForceAttemptHTTP2:  true,
		},
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, failure(ctx, target, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d %s instead of an image", target.Host, response.StatusCode, http.StatusText(response.StatusCode))
	}
	if response.ContentLength > maxBytes {
		return nil, errTooLong
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, failure(ctx, target, err)
	case len(raw) > maxBytes:
		return nil, errTooLong
	}
	return raw, nil
}

var errTooLong = errors.New("the image has more than 5 MiB, which is not drawn here: open it in a browser instead")

// checkRedirect runs before a redirect is followed. net/http has put the former address into Referer by then.
func checkRedirect(next *http.Request, former []*http.Request) error {
	next.Header.Del("Referer")
	switch {
	case len(former) > maxRedirects:
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return fmt.Errorf("it redirects to something that is not a web address")
	case next.URL.User != nil:
		return fmt.Errorf("it redirects to an address with a name or a password")
	}
	return nil
}

// failure says why nothing came.
func failure(ctx context.Context, target *url.URL, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var local *localError
	var proxied *proxyError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s took too long to send the image; draw it again to try once more", target.Host)
	case errors.As(err, &local):
		return local
	case errors.As(err, &proxied):
		return proxied
	}
	return fmt.Errorf("the image could not be fetched from %s: %w", target.Host, err)
}
