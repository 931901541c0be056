import { render } from 'preact';
import './style.css';
import { Shell } from './shell.js';

const root = document.getElementById('app');
if (root) render(<Shell />, root);
