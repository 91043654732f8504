/* The search of the theme runs in a worker. Browsers start none for a page that is opened from disk.
   There the script of the worker runs in a hidden frame instead, and messages are events. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const scope = this.frame.contentWindow;
      const load = source => new Promise((loaded, failed) => {
        const script = scope.document.createElement("script");
        Object.assign(script, { src: source, onload: loaded, onerror: failed });
        scope.document.body.append(script);
      });
      const answer = data => {
        const message = new MessageEvent("message", { data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      };
      scope.postMessage = answer;
      scope.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      this.ready = load(new URL(url, location.href).href);
    }
    postMessage(data) {
      this.ready.then(() => {
        const scope = this.frame.contentWindow;
        scope.dispatchEvent(new scope.MessageEvent("message", { data }));
      });
    }
    terminate() {
      this.frame.remove();
    }
  };
}
