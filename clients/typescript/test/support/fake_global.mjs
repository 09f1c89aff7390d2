// Replaces fetch by the API in memory, for pages and examples.

import { FakeService, refuse } from "./fake_service.mjs";

const service = new FakeService();
const MODELS = { error: "invalid_model", message: "No such model.", supported_models: ["svc-mock"] };

globalThis.fetch = (url, init) => {
  const isUnknown = typeof init.body === "string" && init.body.includes("svc-mok");
  return isUnknown ? Promise.resolve(refuse(400, MODELS)) : service.fetch(url, init);
};
