package genquery
