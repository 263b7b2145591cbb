import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launchMesh } from '@agentmesh/deploy/launch';
import { agentManifest } from '@agentmesh/mesh';
import { chromium } from 'playwright-core';
import { expect, it } from 'vitest';
import { deskApp } from './desk/src/agent.ts';
import { findBrowser, shots } from './web-ui.fixture.ts';

it('the page of the OpenAPI document shows the routes, sends requests, and asks no other host', async () => {
  mkdirSync(shots, { recursive: true });
  const services = [{ manifest: agentManifest(deskApp), folder: 'test/browser/desk' }];
  await using mesh = await launchMesh({ services, model: 'scripted' });
  await using browser = await chromium.launch({
    executablePath: findBrowser(),
    // Chromium has no sandbox for root.
    chromiumSandbox: process.getuid?.() !== 0,
  });
  const page = await browser.newPage({ viewport: { width: 1_200, height: 1_400 } });
  page.setDefaultTimeout(30_000);
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  await page.goto(`${mesh.gatewayUrl}/docs`);
  const route = page.locator('.opblock', { hasText: 'list-apps' }).first();
  await route.waitFor();
  await route.click();
  await page.getByRole('button', { name: 'Try it out' }).click();
  await page.getByRole('button', { name: 'Execute' }).click();
  await page.locator('.live-responses-table', { hasText: 'desk_app' }).waitFor();
  await page.screenshot({ path: join(shots, 'openapi.png') });
  expect(complaints).toEqual([]);
  const others = asked.filter((url) => !url.startsWith(`${mesh.gatewayUrl}/`) && !url.startsWith('data:'));
  expect(others).toEqual([]);
  expect(asked.length).toBeGreaterThan(4);
});
