"use strict";

// Swagger UI has a dark mode but does not read the browser's preference.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
paint();
dark.addEventListener("change", paint);

// An earlier version kept the key. A browser may forbid access to its storage.
try { localStorage.removeItem("authorized"); } catch { /* Then there is none. */ }

SwaggerUIBundle({
  dom_id: "#swagger-ui",
  url: "openapi.json",
  // The validator badge would send the document to another server.
  validatorUrl: null,
  deepLinking: true,
  // An API key is kept until the page is closed. Swagger UI would keep it in localStorage.
  persistAuthorization: false,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  docExpansion: "list",
  defaultModelRendering: "example",
  defaultModelExpandDepth: 2,
  defaultModelsExpandDepth: 0,
});
