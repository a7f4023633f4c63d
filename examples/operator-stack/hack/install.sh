#!/bin/sh
# Stands for the installation of a tool that end-to-end tests need.
echo "$1: installed"
