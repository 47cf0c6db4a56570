"use strict";

const main = document.getElementById("reference");
const address = new URL(main.dataset.description, location.href).pathname;

// The page may be below a path that a proxy adds. The description's servers begin at the root of the host, so that path
// goes before them, and what is tried out reaches the service that served the page.
const folder = new URL("..", location.href).pathname.replace(/\/$/, "");

function moveServers(item) {
  for (const server of item.servers ?? []) {
    if (server.url.startsWith("/")) {
      server.url = folder + server.url;
    }
  }
}

// Swagger UI fills every example and default into what is tried out. Filters that nobody chose would leave a list empty,
// and an Idempotency-Key that everybody sends would be used up, so for what can be left out they are told in words.
function leaveEmpty(parameter) {
  if (parameter.required || parameter.$ref) {
    return;
  }
  for (const [word, from, name] of [["Default", parameter.schema, "default"], ["Example", parameter, "example"]]) {
    if (name in from) {
      parameter.description += `\n\n${word}: \`${from[name]}\``;
      delete from[name];
    }
  }
}

function prepare(description) {
  const shown = structuredClone(description);
  const paths = Object.values(shown.paths);
  const operations = paths.flatMap(Object.values);
  [shown, ...paths, ...operations].forEach(moveServers);
  const parameters = operations.flatMap((operation) => operation.parameters ?? []);
  [...Object.values(shown.components.parameters), ...parameters].forEach(leaveEmpty);
  return shown;
}

const preparing = () => ({
  statePlugins: {spec: {wrapActions: {updateJsonSpec: (update) => (description) => update(prepare(description))}}},
});

const ui = SwaggerUIBundle({
  domNode: main,
  url: address,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [preparing],
  layout: "BaseLayout",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,

  // Without this the browser would ask for a password in a dialog of its own whenever a secret is wrong.
  requestInterceptor(request) {
    if (!request.loadSpec) {
      request.credentials = "omit";
    }
    return request;
  },

  // A token that somebody gets on this page is the one that the page uses from then on.
  responseInterceptor(response) {
    if (response.ok && response.body?.access_token) {
      ui.preauthorizeApiKey("accessToken", response.body.access_token);
    }
    return response;
  },
});
