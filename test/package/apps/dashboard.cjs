// Serves the dashboard in a CommonJS application, and prints what its page and its overview answer.
require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { DelayQueueModule } = require('nestjs-delay-queue');
const { DelayQueueDashboardModule } = require('nestjs-delay-queue/dashboard');

const { REDIS_URL, PREFIX } = process.env;

function App() {}
Module({
  imports: [
    DelayQueueModule.forRoot({ redis: REDIS_URL, prefix: PREFIX }),
    DelayQueueDashboardModule.forRoot({ access: () => 'read' }),
  ],
})(App);

void (async () => {
  const app = await NestFactory.create(App, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  for (const path of ['queues/', 'queues/api/overview']) {
    const response = await fetch(new URL(path, await app.getUrl()));
    console.log(response.status, response.headers.get('content-type'), (await response.text()).slice(0, 15));
  }
  await app.close();
})();
